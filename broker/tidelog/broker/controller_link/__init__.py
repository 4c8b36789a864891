"""A broker's link to the controllers.

channel               calls to any controller, until one answers for the active one
epoch                 the highest controller epoch seen, and the numbers of attempts
lifecycle             registration, heartbeats, controlled shutdown (KIP-631)
metadata_follower     the committed metadata, followed from any controller
trouble_reports       damaged logs and failed disks, reported until the controllers know
unreachable_reports   brokers whose connections broke
controller_forwarder  changes that clients ask of a broker, forwarded and awaited
producer_ids          blocks of producer ids (KIP-730)
"""
