"""The report of a run: one HTML file with its figures, and an overview of many.

record, record_json   what a run leaves, as plain data
story                 the record read: who was what from when to when
html, page, overview  the pages; timeline, lanes, *_chart*: the figures
markup, canvas, frames, scales, quantities, style, script, document, moments
"""
