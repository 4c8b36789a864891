"""A broker's link to the controllers.

channel                calls to any controller, until one answers other than NOT_CONTROLLER
epoch                  highest controller epoch seen, and attempt numbers
lifecycle              registration, heartbeats, controlled shutdown (KIP-631)
metadata_follower      copy of the committed metadata, from any controller
replica_state_reports  reports of damaged logs and failed disks, until the controllers know
unreachable_reports    reports of brokers with broken connections
controller_forwarder   cluster changes requested by clients, forwarded to the controllers
producer_ids           blocks of producer ids (KIP-730)
"""
