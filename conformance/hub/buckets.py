#!/usr/bin/env python3
"""Files in a real implementation of S3: moto's server, in an environment of its own.

    buckets.py --sconce BINARY

A checkpoint, a safetensors file, an index with its shards and a TorchScript archive are put into a bucket. Verbs must
print of `s3://` what they print of the files themselves, and read little of a long one. That the signatures are
Amazon's is a matter of sconce-hub's unit tests, which have botocore's.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import run as environment  # noqa: E402

HOME = pathlib.Path(__file__).resolve().parent / ".venv-moto"


def in_environment_with_moto():
    try:
        import boto3  # noqa: F401
        import moto.server  # noqa: F401

        return
    except ImportError:
        pass
    python = HOME / "bin" / "python"
    if os.environ.get("SCONCE_MOTO_VENV"):
        raise SystemExit("moto was installed but cannot be imported")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        environment.install("moto[s3,server]", "boto3", python=str(python))
    os.environ["SCONCE_MOTO_VENV"] = "1"
    os.execv(python, [str(python)] + sys.argv)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--sconce", required=True)
    binary = str(pathlib.Path(options.parse_args().sconce).resolve())
    in_environment_with_moto()
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    variables = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
                 "AWS_ENDPOINT_URL": f"http://{host}:{port}"}
    os.environ |= variables
    client = boto3.client("s3", region_name="us-east-1", endpoint_url=variables["AWS_ENDPOINT_URL"])
    client.create_bucket(Bucket="models")
    fixtures = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "files" / "2.15"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)

        def sconce(*words):
            done = subprocess.run([binary, *words], cwd=scratch, capture_output=True, text=True, timeout=120,
                                  env=dict(os.environ, SCONCE_CACHE_DIR=str(scratch / "ranges")))
            assert "panicked" not in done.stderr, done.stderr
            return done

        for source, name in (("zip/state_dict.pt", "a b/plain+1.pt"), ("legacy/state_dict.pt", "legacy.pt"),
                             ("torchscript/scripted.pt", "scripted.pt")):
            (scratch / name).parent.mkdir(exist_ok=True)
            (scratch / name).write_bytes((fixtures / source).read_bytes())
        assert sconce("convert", "a b/plain+1.pt", "plain.safetensors").returncode == 0
        assert sconce("shard", "a b/plain+1.pt", "-C", "shards", "--max-size", "200").returncode == 0
        names = [str(path.relative_to(scratch)) for path in scratch.rglob("*")
                 if path.is_file() and "ranges" not in path.parts]
        for name in names:
            client.put_object(Bucket="models", Key=name, Body=(scratch / name).read_bytes())
        index = next(name for name in names if name.endswith(".index.json"))
        checked = 0
        for words in (["ls", "a b/plain+1.pt"], ["info", "a b/plain+1.pt"], ["verify", "a b/plain+1.pt"],
                      ["show", "a b/plain+1.pt", "body.0.conv.weight"], ["stat", "legacy.pt"], ["ls", "--json", "legacy.pt"],
                      ["code", "scripted.pt"], ["graph", "scripted.pt"], ["scan", "scripted.pt"],
                      ["ls", "plain.safetensors"], ["ls", index]):
            far = sconce(*[f"s3://models/{word}" if word in names else word for word in words])
            near = sconce(*words)
            assert far.returncode == near.returncode, f"{words}: {far.stderr}"
            assert far.stdout.replace("s3://models/", "") == near.stdout, f"{words}: {far.stdout}"
            checked += 1
        missing = sconce("ls", "s3://models/none.pt")
        assert missing.returncode == 2 and "404" in missing.stderr and "NoSuchKey" in missing.stderr, missing.stderr
        assert sconce("ls", "s3://nowhere/none.pt").returncode == 2
        document = json.loads(sconce("ls", "--json", "s3://models/legacy.pt").stdout)
        assert document["schema_version"] and "Signature" not in json.dumps(document)
    server.stop()
    print(f"s3: {checked} of {checked} commands print of a bucket what they print of the files")


if __name__ == "__main__":
    main()
