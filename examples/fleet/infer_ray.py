"""Runs a program over the rows of Parquet files on Ray: workers map its weights, and one load serves all their batches.

    python infer_ray.py model.pt rows.parquet --column x --out results --actors 2
"""

import os
import time

import job
import numpy as np
import paths
import pyarrow as pa
import pyarrow.parquet as pq
import ray
import schema
from ray.data import ActorPoolStrategy


class Infer:
    """A worker: it loads the program when it starts, by path. Workers of one machine share the mapped file."""
    def __init__(self, path, column, batch):
        import sconce

        sconce.set_num_threads(1)  # Ray gives an actor one processor, and says so to OpenMP only.
        self.model = sconce.jit.load(path, max_seconds=60)
        self.column, self.batch = column, batch

    def __call__(self, groups):
        for path, group in zip(groups["path"].to_pylist(), groups["group"].to_pylist()):
            rows = pq.ParquetFile(path).read_row_group(group, columns=["id", self.column])
            yield from (self.table(*batch.to_pydict().values()) for batch in rows.to_batches(self.batch))

    def table(self, ids, rows):
        none, true = pa.nulls(len(ids), pa.string()), pa.array([True] * len(ids))
        try:
            columns = [pa.array(ids, pa.int64()), true, none, none, self.results(rows)]
            return pa.Table.from_arrays(columns, schema=schema.INFERRED)
        except Exception:  # One row of these is bad: each alone says which.
            return pa.Table.from_pylist([self.row(*row) for row in zip(ids, rows)], schema.INFERRED)

    def results(self, rows):
        """A list for each row. The array is a copy: nothing refers to the map."""
        made = np.array(self.model(np.asarray(rows, np.float32)), np.float32).reshape(len(rows), -1)
        ends = np.arange(len(rows) + 1, dtype=np.int32) * made.shape[1]
        return pa.ListArray.from_arrays(ends, made.ravel(), type=schema.INFERRED.field("result").type)

    def row(self, number, row):
        import sconce

        made = dict.fromkeys(schema.INFERRED.names) | {"id": number}
        try:
            return made | {"ok": True, "result": self.results([row])[0].as_py()}
        except (sconce.SconceError, ValueError, TypeError) as error:
            return made | schema.failure(error)


def main():
    options = job.add_rows(job.parser(__doc__)).parse_args()
    out, started = job.new_folder(options.out), time.monotonic()
    ray.cloudpickle.register_pickle_by_value(schema)  # Workers need not have it.
    model = (os.path.abspath(options.model), options.column, options.batch)
    pool = {"compute": ActorPoolStrategy(size=options.actors), "num_cpus": 1, "fn_constructor_args": model}
    groups = ray.data.from_items(paths.groups(options.rows))
    groups.map_batches(Infer, batch_format="pyarrow", batch_size=1, **pool).write_parquet(out)
    ray.shutdown()  # What workers print would come behind the last line.
    job.end(out, schema.INFERRED, started, options, "rows")


if __name__ == "__main__":
    main()
