"""The prompt and output format of Muse-Glimmer, byte for byte."""

import json

BOS, END_OF_TEXT = "<|begin_of_text|>", "<|end_of_text|>"
EOM, EOT = "<|eom|>", "<|eot|>"
START, MESSAGE = "<|start|>", "<|message|>"
TO_SELF, TO_USER = f" to=self{MESSAGE}", f" to=user{MESSAGE}"
NEXT = f"{EOM}{START}assistant"
GENERATE = f"{START}assistant"

ABOUT_TOOLS = """In this environment you have access to a set of tools you can use to answer the \
user's question.

You can invoke a function by writing a "<atem:function_calls>" block like the following:
<atem:function_calls>
<atem:invoke name="$FUNCTION_NAME">
<atem:parameter name="$PARAMETER_NAME">$PARAMETER_VALUE</atem:parameter>
...
</atem:invoke>
</atem:function_calls>

String and scalar parameters should be specified as is, while lists and objects should use JSON \
format. Note that spaces for string values are not stripped. The output is not expected to be \
valid XML and is parsed with regular expressions.
Here are the functions available in JSONSchema format:
"""

CALL_EXAMPLE = """

Here's an example of how to call a function in the tool set:
(If the tool namespace is not specified, invoke the function directly as `example_function_name` \
rather than `example_tool_name.example_function_name`)

to=example_tool_name.example_function_name

<atem:function_calls>
<atem:invoke name="example_tool_name.example_function_name">
<atem:parameter name="example_parameter_1">value_1</atem:parameter>
<atem:parameter name="example_parameter_2">This is the value for the second parameter
that can span
"multiple" lines
</atem:parameter>
</atem:invoke>
</atem:function_calls>"""

DEFAULT_SYSTEM = "You are a helpful AI assistant.\nKnowledge cutoff: 2026-01-04.\nCurrent date: "

# What the format repeats in every prompt or call: each is one token of our tokenizer.
PHRASES = [
    ABOUT_TOOLS[:ABOUT_TOOLS.index("You can invoke")],
    ABOUT_TOOLS[ABOUT_TOOLS.index("You can invoke"):ABOUT_TOOLS.index("<atem:function_calls>\n")],
    ABOUT_TOOLS[ABOUT_TOOLS.index("<atem:function_calls>\n"):ABOUT_TOOLS.index("String and")],
    ABOUT_TOOLS[ABOUT_TOOLS.index("String and"):ABOUT_TOOLS.index("Note that")],
    ABOUT_TOOLS[ABOUT_TOOLS.index("Note that"):ABOUT_TOOLS.index("The output")],
    ABOUT_TOOLS[ABOUT_TOOLS.index("The output"):ABOUT_TOOLS.index("Here are")],
    ABOUT_TOOLS[ABOUT_TOOLS.index("Here are"):],
    CALL_EXAMPLE[:CALL_EXAMPLE.index("(If")],
    CALL_EXAMPLE[CALL_EXAMPLE.index("(If"):CALL_EXAMPLE.index("to=example")],
    CALL_EXAMPLE[CALL_EXAMPLE.index("to=example"):CALL_EXAMPLE.index("<atem:function_calls>")],
    CALL_EXAMPLE[CALL_EXAMPLE.index("<atem:function_calls>"):CALL_EXAMPLE.index("This is the")],
    CALL_EXAMPLE[CALL_EXAMPLE.index("This is the"):],
    "// Tool metadata\n", "// Function schemas\n",
    DEFAULT_SYSTEM, "\n\nReasoning strength: ", '\n\n# Valid recipients: "self", "', '.*", "',
    'user".',
    '{"name": "', '", "description": "', '", "description": ""}',
    '", "parameters": {"type": "object", "properties": {"',
    '", "parameters": {"type": "object", "properties": {}}', '{"type": "object", "properties": {"',
    '": {"type": "', '"}, "', '"}}, "required": ["', '"}}}', '"}}', '"]}}', '"}', '{"', '["', '"]',
    '", "items": {"type": "', '", "enum": ["', '", "', '": "', '": ', ', "',
    '<atem:function_calls>\n<atem:invoke name="', "<atem:function_calls>", '<atem:invoke name="',
    '<atem:parameter name="', "</atem:parameter>\n", "</atem:parameter>",
    "</atem:invoke>\n</atem:function_calls>", "</atem:invoke>", "</atem:function_calls>",
    '<tool_output name="', "\n</tool_output>", '">\n', '">',
]


def to_json(value):
    return json.dumps(value, ensure_ascii=False)


def value_text(value):
    """A parameter's value: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else to_json(value)


def namespace(tool_name):
    return tool_name.split(".")[0]


def tool_block(schemas):
    spaces = dict.fromkeys(namespace(schema["name"]) for schema in schemas)
    metadata = "\n".join(to_json({"name": space, "description": ""}) for space in spaces)
    functions = "\n".join(map(to_json, schemas))
    return (f"{ABOUT_TOOLS}// Tool metadata\n{metadata}\n// Function schemas\n{functions}"
            f"{CALL_EXAMPLE}")


def system(text, strength, schemas):
    """The system message with its trailer; `text` is the default block's or the user's own."""
    spaces = dict.fromkeys(namespace(schema["name"]) for schema in schemas)
    recipients = ", ".join(['"self"', *(f'"{space}.*"' for space in spaces), '"user"'])
    tools = f"\n\n{tool_block(schemas)}" if schemas else ""
    return (f"{START}system{MESSAGE}{text}\n\nReasoning strength: {strength}.{tools}"
            f"\n\n# Valid recipients: {recipients}.{EOT}")


def user(text):
    return f"{START}user{MESSAGE}{text}{EOT}"


def image(rows):
    """A picture's place in a message."""
    return f"<|image_start|>{'<|patch|>' * rows}<|image_end|>"


def tool_output(name, text):
    return f'{START}tool {name}{MESSAGE}<tool_output name="{name}">\n{text}\n</tool_output>{EOT}'


def call(name, arguments):
    """A message to a tool, from its recipient to the end of its body."""
    lines = "".join(f'<atem:parameter name="{key}">{value_text(value)}</atem:parameter>\n'
                    for key, value in arguments.items())
    return (f' to={name}{MESSAGE}<atem:function_calls>\n<atem:invoke name="{name}">\n{lines}'
            "</atem:invoke>\n</atem:function_calls>")


def turn(reasoning, bodies):
    """What the model writes behind `<|start|>assistant`; `bodies` are calls or one answer."""
    thought = [f"{TO_SELF}{reasoning}"] if reasoning else []
    return NEXT.join(thought + bodies) + EOT


def answer(text):
    return f"{TO_USER}{text}"
