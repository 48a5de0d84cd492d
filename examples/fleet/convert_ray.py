"""Converts files on Ray: each becomes a safetensors file that is there whole or not at all, and a row.

    python convert_ray.py /models --to /safetensors --out converted --actors 2
"""

import os
import subprocess
import sys
import time

import job
import paths
import ray
import scan_ray
import schema


class Convert(scan_ray.Scan):
    """A worker: what it does with each file once that is scanned is convert it."""

    columns = schema.CONVERTED

    def __init__(self, marks, apart, root, folder, flags):
        super().__init__(marks, apart)
        self.root, self.folder, self.flags = root, folder, flags

    def row(self, path):
        return {"to": None} | schema.scan_row(path, self.apart, then=self.convert)

    def convert(self, path):
        import sconce

        # The whole name, since model.pt and model.ckpt may be side by side.
        to = os.path.join(self.folder, os.path.relpath(path, self.root)) + ".safetensors"
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if self.apart:
            self.convert_apart(path, to)
        else:
            sconce.convert(path, to, overwrite=True, **self.flags)
        return {"to": to}

    def convert_apart(self, path, to):
        import sconce

        flags = [f"--{name}={value}" for name, value in self.flags.items()]
        command = [sys.executable, "-m", "sconce", "convert", "--quiet", "--force", *flags, "--", path, to]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=schema.APART["max_seconds"])
        except subprocess.TimeoutExpired as error:
            raise sconce.TimeLimitError(str(error), path=path, limit="time") from None
        if done.returncode:
            raise sconce.SconceError(done.stderr or f"ended with {done.returncode}", path=path)


def main():
    parser = job.add_files(job.parser(__doc__))
    parser.add_argument("--to", required=True, help="the folder of the new files, on storage that all workers mount")
    parser.add_argument("--take", help="the part of each file to convert, such as state_dict")
    options = parser.parse_args()
    files, out, started = paths.listed(options.files), job.new_folder(options.out), time.monotonic()
    root = os.path.commonpath(list(map(os.path.dirname, files)))
    flags = {"take": options.take} if options.take else {}
    ray.cloudpickle.register_pickle_by_value(scan_ray)
    scan_ray.two_passes(Convert, files, out, options, root, os.path.abspath(options.to), flags)
    job.end(out, Convert.columns, started, options)


if __name__ == "__main__":
    main()
