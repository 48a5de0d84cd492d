"""Runs a program over the rows of Parquet files on Ray: workers map its weights, and one load serves all their batches.

    python infer_ray.py model.pt rows.parquet --column x --out results --actors 2
"""

import os
import time

import job
import numpy as np
import pyarrow as pa
import ray
import schema
from ray.data import ActorPoolStrategy


class Infer:
    """A worker: it loads the program when it starts, by path. Workers of one node share the mapped file."""

    def __init__(self, path, column):
        import sconce

        sconce.set_num_threads(1)  # Ray gives an actor one processor, and says so to OpenMP only.
        self.model = sconce.jit.load(path, max_seconds=60)
        self.column = column

    def __call__(self, batch):
        ids, rows = batch["id"].to_pylist(), batch[self.column].to_pylist()
        try:
            results = self.results(rows)
        except Exception:  # One row of these is bad: each alone says which.
            return pa.Table.from_pylist([self.row(*row) for row in zip(ids, rows)], schema.INFERRED)
        none = pa.nulls(len(ids), pa.string())
        columns = [pa.array(ids, pa.int64()), pa.array([True] * len(ids)), none, none, results]
        return pa.Table.from_arrays(columns, schema=schema.INFERRED)

    def results(self, rows):
        """What the program makes of rows, one list a row. The array is a copy: nothing refers to the map."""
        made = np.array(self.model(np.asarray(rows, np.float32)), np.float32).reshape(len(rows), -1)
        ends = np.arange(len(rows) + 1, dtype=np.int32) * made.shape[1]
        return pa.ListArray.from_arrays(ends, made.ravel())

    def row(self, number, row):
        import sconce

        made = dict.fromkeys(schema.INFERRED.names) | {"id": number}
        try:
            return made | {"ok": True, "result": self.results([row])[0].as_py()}
        except (sconce.SconceError, ValueError, TypeError) as error:
            return made | schema.failure(error)


def main():
    parser = job.parser(__doc__)
    parser.add_argument("model", help="what torch.jit.save or torch.export.save wrote")
    parser.add_argument("rows", nargs="+", help="Parquet files or folders, with columns `id` and --column")
    parser.add_argument("--column", default="x", help="lists of numbers, as long as the program wants them")
    parser.add_argument("--batch", type=int, default=512, help="rows a call")
    options = parser.parse_args()
    model, out, started = os.path.abspath(options.model), job.new_folder(options.out), time.monotonic()
    ray.cloudpickle.register_pickle_by_value(schema)  # Workers need not have it.
    pool = {"compute": ActorPoolStrategy(size=options.actors), "num_cpus": 1, "fn_constructor_args": (model, options.column)}
    rows = ray.data.read_parquet([os.path.abspath(rows) for rows in options.rows], columns=["id", options.column])
    rows.map_batches(Infer, batch_format="pyarrow", batch_size=options.batch, **pool).write_parquet(out)
    ray.shutdown()
    job.end(out, schema.INFERRED, started, options, "rows")


if __name__ == "__main__":
    main()
