"""What the scripts share that run programs with sconce: a call of the command, and the last line."""

import subprocess

import torch


def call(sconce, base):
    """Runs the program BASE.pt2 with the arguments of BASE.in.pt. What the command says where it fails, and what the program gives."""
    command = [sconce, "run", f"{base}.pt2", "--inputs", f"{base}.in.pt", "--output", f"{base}.out.pt", "--force", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return " | ".join(line for line in done.stderr.splitlines() if line.strip())[:300], None
    return None, torch.load(f"{base}.out.pt", weights_only=False)


def summary(counts):
    """Prints how many of each verdict there were; the exit status."""
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    return 1 if counts["fails"] + counts["differs"] else 0
