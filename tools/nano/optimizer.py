"""Muon for matrices, AdamW for embeddings and norms, and an average of all weights."""

import torch

from network import PRODUCTS

MUON_RATE, ADAM_RATE = 0.02, 0.003
MOMENTUM, DECAY, WARM_UP = 0.95, 0.02, 40


def orthogonal(stack, steps=5):
    """The nearest orthogonal matrices of a stack [..., out, in], by Newton-Schulz."""
    x = stack / (stack.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    x = (x.mT if tall else x).to(PRODUCTS).contiguous()
    for _ in range(steps):
        a = x @ x.mT
        b = -4.7750 * a + 2.0315 * (a @ a)
        x = 3.4445 * x + b @ x
    return (x.mT if tall else x).float()


class Optimizer:
    """Of a module with `matrices()` [..., out, in], `tables()` of embeddings and `scales()` of norms.
    """

    def __init__(self, model):
        self.model, self.steps = model, 0
        self.momenta = [torch.zeros_like(p) for p in model.matrices()]
        self.adam = torch.optim.AdamW(
            [dict(params=model.tables(), weight_decay=0.01),
             dict(params=model.scales(), weight_decay=0.0)],
            lr=ADAM_RATE, betas=(0.9, 0.98), eps=1e-10)
        self.average = {name: p.detach().clone() for name, p in model.named_parameters()}

    def state(self):
        return dict(weights=self.model.state_dict(), average=self.average, momenta=self.momenta,
                    adam=self.adam.state_dict(), steps=self.steps)

    def restore(self, state):
        self.model.load_state_dict(state["weights"])
        self.average, self.momenta, self.steps = (
            state[name] for name in ("average", "momenta", "steps"))
        self.adam.load_state_dict(state["adam"])

    @torch.no_grad()
    def step(self, share):
        """One update at `share` of the full rates; the first steps warm up."""
        self.steps += 1
        share *= min(1.0, self.steps / WARM_UP)
        for weight, momentum in zip(self.model.matrices(), self.momenta):
            momentum.lerp_(weight.grad, 1 - MOMENTUM)
            update = orthogonal(weight.grad.lerp(momentum, MOMENTUM))
            rate = share * MUON_RATE
            scale = max(1.0, weight.shape[-2] / weight.shape[-1]) ** 0.5
            weight.mul_(1 - rate * DECAY).add_(update, alpha=-rate * scale)
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(self.model.tables() + self.model.scales(), 1.0)
        for group in self.adam.param_groups:
            group["lr"] = ADAM_RATE * share
        self.adam.step()
        self.adam.zero_grad()
        keep = min(0.985, self.steps / (self.steps + 9))
        for name, weight in self.model.named_parameters():
            self.average[name].lerp_(weight, 1 - keep)
