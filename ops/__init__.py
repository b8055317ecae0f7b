"""What stands beside a deployment: alerts, dashboards, a collector."""
