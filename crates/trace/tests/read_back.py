"""Reads a trace with DuckDB and with polars, and prints what each of them sees as JSON.

Called by readers.rs: read_back.py FOLDER
"""

import json
import sys

import duckdb
import polars


def by_duckdb(folder):
    def query(text):
        return duckdb.sql(text.replace("FOLDER", folder)).fetchall()

    return {
        "columns": {
            file: [[name, kind] for name, kind, *_ in query(f"describe from 'FOLDER/{file}.parquet'")]
            for file in ("packets", "frames", "events")
        },
        "packets": [list(row) for row in query(
            "select frame_number, packet_index, time_ns, sender, destination, packet_type, version, packet_length_bytes,"
            " packet_number, key_phase from 'FOLDER/packets.parquet'")],
        "stream_bytes": dict(query(
            "select sender, sum(length_bytes)::ubigint from 'FOLDER/frames.parquet' where frame_name = 'stream' group by all")),
        "ack_ranges": [[list(pair.values()) for pair in ranges] for ranges, in query(
            "select ack_ranges from 'FOLDER/frames.parquet' where frame_name = 'ack'")],
        "events": [list(row) for row in query(
            "select time_ns, name, smoothed_rtt_ns, ssthresh_bytes from 'FOLDER/events.parquet'")],
    }


# The types that u32, u64, i64, bool, string and ranges become, by DuckDB's names.
POLARS_TYPES = {
    polars.UInt32: "UINTEGER",
    polars.UInt64: "UBIGINT",
    polars.Int64: "BIGINT",
    polars.Boolean: "BOOLEAN",
    polars.String: "VARCHAR",
    polars.List(polars.Struct({"first": polars.UInt64, "last": polars.UInt64})):
        'STRUCT("first" UBIGINT, "last" UBIGINT)[]',
}


def by_polars(folder):
    packets, frames, events = (
        polars.read_parquet(f"{folder}/{file}.parquet") for file in ("packets", "frames", "events"))
    streams = frames.filter(polars.col("frame_name") == "stream").group_by("sender").agg(polars.col("length_bytes").sum())
    acks = frames.filter(polars.col("frame_name") == "ack")["ack_ranges"].to_list()
    return {
        "columns": {
            name: [[column, POLARS_TYPES[kind]] for column, kind in frame.schema.items()]
            for name, frame in (("packets", packets), ("frames", frames), ("events", events))
        },
        "packets": [list(row) for row in packets.select(
            "frame_number", "packet_index", "time_ns", "sender", "destination", "packet_type", "version",
            "packet_length_bytes", "packet_number", "key_phase").rows()],
        "stream_bytes": dict(streams.rows()),
        "ack_ranges": [[[pair["first"], pair["last"]] for pair in ranges] for ranges in acks],
        "events": [list(row) for row in events.select("time_ns", "name", "smoothed_rtt_ns", "ssthresh_bytes").rows()],
    }


json.dump({"duckdb": by_duckdb(sys.argv[1]), "polars": by_polars(sys.argv[1])}, sys.stdout)
