"""Record batches in Kafka's format, magic 2: header, records, compression. Pure; no file access.

Rooms:

    batch           the 61-byte header: parse, check sizes and CRC-32C, walk a buffer of batches,
                    give a batch its base offset and leader epoch without touching its records
    records         one record at a time: read, build a batch, rebuild one without some records,
                    control markers
    record_columns  a few hundred records at a time as columns: keys, values, headers, timestamps
    record_runs     runs of records of one length, compared and skipped by strided slices
    compression     gzip, snappy, lz4, zstd, with a limit on what a batch may inflate to
    varints         zigzag varints, as records use them

A broker reads headers and moves batches as they are; a producer and a consumer read and write
records. Facts: Kafka's message format (KIP-98), KIP-110 for zstd, KIP-534 for delete horizons.
Begin with `batch`.

Imports: `tidelog.core` for its errors.
"""
