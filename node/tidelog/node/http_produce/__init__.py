"""`POST /topics/TOPIC`: records over HTTP, for `curl` and for programs without a client.

    config    the keys `http.produce.*`: off by default, and every bound
    records   a request's query and body → records, by its Content-Type. Begin here
    answers   records and errors → status and JSON
    posts     the bounds at work: what is refused, when a body is read, the wait for the records

The only room of a node that imports `tidelog.client`: a posted record takes the way of every
producer's, to whichever broker leads (decision 0046). Imports: `tidelog.client`, `tidelog.core`.
"""
