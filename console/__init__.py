"""The operator's and the developer's commands behind the standby command."""
