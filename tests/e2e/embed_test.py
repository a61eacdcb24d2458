#!/usr/bin/env python3
"""What `meson install` puts in place: enough to run the daemon and to build other programs."""

import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

MESON = shlex.split(os.environ["GLIMMER_MESON"])
BUILD = os.environ["GLIMMER_BUILD_ROOT"]
PREFIX = os.environ["GLIMMER_PREFIX"]
EMBED = Path(__file__).parent / "embed"


def output_of(command, **options):
    """Standard output of a command that has to succeed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=240, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        output_of(MESON + ["install", "-C", BUILD, "--no-rebuild", "--destdir", cls.folder])
        cls.prefix = cls.folder / PREFIX.lstrip("/")
        cls.model = cls.prefix / "share/glimmer/models/default"
        cls.pc = next(cls.prefix.rglob("glimmer.pc"))
        # pkg-config reads the staged tree as if it were the root folder.
        cls.environment = os.environ | {"PKG_CONFIG_PATH": str(cls.pc.parent),
                                        "PKG_CONFIG_SYSROOT_DIR": str(cls.folder)}

    def flags(self, *which):
        return shlex.split(output_of(["pkg-config", *which, "glimmer"], env=self.environment))

    def test_everything_is_in_its_place(self):
        for place in ("bin/glimmerd", "include/glimmer/glimmer/engine.hpp",
                      "include/glimmer/glimmer/glimmer.h", "share/glimmer/models/default/config.json",
                      "lib/systemd/system/glimmerd.service"):
            self.assertTrue((self.prefix / place).is_file(), place)
        self.assertTrue(list(self.folder.rglob("etc/glimmer/glimmerd.conf")))
        self.assertTrue((self.pc.parent.parent / "libglimmer.so").exists())
        unit = (self.prefix / "lib/systemd/system/glimmerd.service").read_text()
        self.assertIn(f"ExecStart={PREFIX}/bin/glimmerd --config ", unit)

    def test_the_example_configuration_is_read(self):
        conf = next(self.folder.rglob("glimmerd.conf"))
        output_of([self.prefix / "bin/glimmerd", "--config", conf, "--version"])

    def test_the_daemon_finds_the_model_it_came_with(self):
        with subprocess.Popen([self.prefix / "bin/glimmerd", "--port", "0"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True) as daemon:
            ready = next((line for line in daemon.stdout if "ready at" in line), "")
            daemon.terminate()
            daemon.stdout.read()
        self.assertIn("glimmer is ready at http://127.0.0.1:", ready)
        self.assertEqual(daemon.returncode, 0)

    def test_every_public_header_compiles_alone(self):
        include = self.prefix / "include/glimmer"
        headers = sorted(str(h.relative_to(include)) for h in include.rglob("*.h*"))
        self.assertIn("glimmer/actor_handles.hpp", headers)
        for header in headers:
            compiler, language, standard = (("c++", "c++", "-std=c++23")
                                            if header.endswith(".hpp") else ("cc", "c", "-std=c11"))
            output_of([compiler, "-x", language, standard, "-Wall", "-Wextra", "-Werror",
                       "-fsyntax-only", *self.flags("--cflags"), "-"],
                      input=f'#include "{header}"\n', env=self.environment)

    def test_programs_in_cpp_and_c_build_and_serve(self):
        build = self.folder / "embed"
        output_of(MESON + ["setup", build, EMBED], env=self.environment)
        output_of(MESON + ["compile", "-C", build], env=self.environment)
        for program in ("embed_cpp", "embed_c"):
            told = output_of([build / program, self.model, "--cpu-threads", "1"])
            self.assertRegex(told.splitlines()[-1], r"^glimmer \d+\.\d+\.\d+ ended with 0$")


if __name__ == "__main__":
    unittest.main()
