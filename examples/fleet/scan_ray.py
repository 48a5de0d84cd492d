"""Scans files on Ray: a row for each says what is in it and what loading it would call.

    python scan_ray.py /models --out scanned --actors 2
"""

import os
import shutil
import time

import job
import paths
import pyarrow as pa
import ray
import schema
from ray.data import ActorPoolStrategy


class Scan:
    """A worker: it takes a table of paths and gives one of rows."""

    columns = schema.SCANNED

    def __init__(self, marks, apart):
        import sconce

        sconce.set_num_threads(1)  # Ray gives an actor one processor, and says so to OpenMP only.
        self.marks, self.apart = marks, apart

    def __call__(self, batch):
        paths = batch["path"].to_pylist()
        # Ray tries again without end. What killed a worker is left to the second pass.
        if not job.may_try(self.marks, paths):
            return self.columns.empty_table()
        return pa.Table.from_pylist([self.row(path) for path in paths], self.columns)

    def row(self, path):
        return schema.scan_row(path, self.apart)


def one_pass(worker, arguments, paths, out, actors, batch):
    """Paths travel to the workers, rows to Parquet files."""
    items = ray.data.from_items([{"path": path} for path in paths], override_num_blocks=-(-len(paths) // batch))
    pool = {"compute": ActorPoolStrategy(size=actors), "num_cpus": 1, "fn_constructor_args": arguments}
    items.map_batches(worker, batch_format="pyarrow", batch_size=batch, **pool).write_parquet(out)


def two_passes(worker, paths, out, options, *more):
    """A row for every path. Files of a worker that died have none at first: once more, alone, each in a process."""
    for module in (job, schema):  # Workers need not have them.
        ray.cloudpickle.register_pickle_by_value(module)
    marks = os.path.join(out, "_tried")
    one_pass(worker, (os.path.join(marks, "first"), options.isolate, *more), paths, out, options.actors, 64)
    lost = job.without_row(paths, out, worker.columns)
    if lost:
        one_pass(worker, (os.path.join(marks, "second"), True, *more), lost, out, min(options.actors, len(lost)), 1)
        job.write_lost(job.without_row(lost, out, worker.columns), out, worker.columns)
    shutil.rmtree(marks)
    ray.shutdown()  # What workers print would come behind the last line.


def main():
    options = job.add_files(job.parser(__doc__)).parse_args()
    files, out, started = paths.listed(options.files), job.new_folder(options.out), time.monotonic()
    two_passes(Scan, files, out, options)
    job.end(out, Scan.columns, started, options)


if __name__ == "__main__":
    main()
