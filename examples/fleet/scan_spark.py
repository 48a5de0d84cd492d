"""Scans files on Spark: a row for each says what is in it and what loading it would call.

    python scan_spark.py /models --out scanned --actors 2
"""

import os
import shutil
import sys
import time

import job
import paths
import schema
from pyspark.sql import SparkSession


def scan(marks, apart):
    """What workers do with tables of paths. They are forked: sconce is imported after that, in `scan_row`."""

    def rows(batches):
        import job
        import pandas
        import schema

        for batch in batches:
            paths = list(batch["path"])
            # Spark tries four times. What killed a worker is left to the second pass.
            if job.may_try(marks, paths):
                found = [schema.scan_row(path, apart) for path in paths]
                yield pandas.DataFrame(found, columns=schema.SCANNED.names, dtype=object)

    return rows


def one_pass(spark, paths, out, marks, apart, parts):
    """Paths travel to the workers, rows to Parquet files."""
    # Parts of equal size, which repartition() does not promise: in the second pass a file shares its part with no other.
    files = spark.createDataFrame(spark.sparkContext.parallelize([(path,) for path in paths], parts), "path string")
    files.mapInPandas(scan(marks, apart), schema.SPARK).write.mode("append").parquet(out)


def main():
    parser = job.add_files(job.parser(__doc__))
    parser.add_argument("--master", help="where Spark is; without it, here")
    options = parser.parse_args()
    files, out, started = paths.listed(options.files), job.new_folder(options.out), time.monotonic()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Spark on this machine tries a part again, too, if it is told so.
    builder = SparkSession.builder.master(options.master or f"local[{options.actors},4]").appName("scan")
    spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 64).getOrCreate()
    for module in (job, schema):
        spark.sparkContext.addPyFile(module.__file__)
    marks = os.path.join(out, "_tried")
    one_pass(spark, files, out, os.path.join(marks, "first"), options.isolate, 4 * options.actors)
    # Files whose worker died, and their neighbours: each alone, in a process of its own.
    lost = job.without_row(files, out, schema.SCANNED)
    if lost:
        one_pass(spark, lost, out, os.path.join(marks, "second"), True, len(lost))
        job.write_lost(job.without_row(lost, out, schema.SCANNED), out, schema.SCANNED)
    spark.stop()
    shutil.rmtree(marks)
    job.end(out, schema.SCANNED, started, options)


if __name__ == "__main__":
    main()
