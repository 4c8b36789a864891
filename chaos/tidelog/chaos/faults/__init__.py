"""Faults: something that goes wrong and is taken back (`fault.Fault`).

    fault                    effect                                                runs on
    nodes: Kill              SIGKILL; starts when healed. Loses nothing            both
    nodes: Terminate         SIGTERM; starts when healed                           both
    nodes: Pause             SIGSTOP; SIGCONT when healed                          both
    nodes: EmptyDisk         killed, starts with an empty disk. Lossy              both
    cut                      no byte arrives on some paths; no error               both
    delay                    late by seconds, nothing is lost                      both
    isolate_leader           the leader from followers, controllers, clients       both
    asymmetric_partition     one side's messages are lost; it still receives       both
    ring_partition           each node's messages to the next are lost             both
    majority_split           two sides, a minority of the controllers on one       both
    torn_tail                power lost in the middle of a write. Lossy            both
    bit_flip                 a bit of a file, by kind of file. Mostly lossy        both
    power: PowerCut          unsynced bytes are lost; starts when healed           simulated
    power: EndAtWrite        killed, or without power, within a disk's operation   simulated
    disk_full                room for a number of bytes only                       both: small disks
    slow_disks               syncs of several disks take seconds                   both
    starve                   processes get a share of a processor                  both
    toxics: Latency          late, in order                                        sockets
    toxics: Bandwidth        kilobytes a second, per connection                    sockets
    toxics: SlowClose        half-open connections                                 sockets
    toxics: Timeout          blackhole, one way or both                            sockets
    toxics: ResetPeer        connections reset at the next bytes                   sockets
    toxics: Slicer           small pieces                                          sockets
    toxics: LimitData        connections end in the middle of a message            sockets
    toxics: LinkDown         connections closed, connects refused                  sockets
    flap                     another fault comes and goes                          as the other
    together, sequence       others at once, or one after another                  as the others
    swizzle                  others begin in one random order, end in another      as the others
    storm                    a seeded storm of these, within a `budget`            both

`reach` says where a toxic lies, `proxies` is the port to Toxiproxy. `drawer` draws random faults,
for a storm and for the random suites of the simulation; both keep to the one `budget` of damage.

What Toxiproxy 2.12.0 really does, from its source and issues; a toxic lies on one direction of a
proxy, on the connections there are and on those to come:

- It ends TCP on both sides. It accepts at once, then connects to the target: latency and blackholes
  never slow a connect (#123), a dead target shows as a connection that is accepted and closed, and
  TCP's own keepalive is answered by the proxy: only that of HTTP/2 crosses it.
- `toxicity` is drawn for each connection, and again when the toxic after it in the chain comes or
  goes. gRPC sends all calls of a channel over one connection: a toxicity below 1 strikes
  connections, not calls, so clients of such a story need several transports.
- timeout drops what it is given from the moment it is there; `timeout` > 0 is not an idle time but
  how long until it closes the connection (#121; a toxic that lets data pass for a while first was
  proposed in #195 and never merged); 0 drops until it is removed (#410). Removing it closes the
  connections it lay on, because their streams have holes by then.
- reset_peer waits for data, drops it, waits `timeout` ms, closes. Connections *made* while it is
  there get SO_LINGER 0, so RST, also those its toxicity spared (#603); older ones are closed with
  FIN as long as nothing unread is left. It strikes new connections until it is removed (#465).
- limit_data counts bytes for each connection from when it or the toxic began, passes what is left
  of a chunk, closes; with its connections it also strikes all that come.
- slow_close delays only the passing on of a close. Data passes; removal closes at once.
- bandwidth: `rate` is 1000 bytes a second; 0 is no limit. Slower than 100 ms a chunk it sends ten
  pieces a second. Per connection.
- latency: up to 1024 chunks of at most 32 KiB wait; then the sender feels it. Removal sends what
  waits at once.
- slicer sleeps after each piece: with 7 bytes and 100 µs only some 50 KB/s remain.
- One toxic of a kind and direction a proxy: on sockets `cut` is a timeout, and the port's `delay` a
  latency, so a path cannot have both at once.
- A disabled proxy closes its listener and all its connections.
- Taking latency or bandwidth off a busy connection may hang the API (#558, open): `Proxies` has a
  limit for each call.

#n: https://github.com/Shopify/toxiproxy/issues/n
"""
