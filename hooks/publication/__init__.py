"""What was published: the ledger, former names, snapshots of earlier builds."""
