"""What happens to a cluster of real processes when machines, disks, clocks and networks fail, under a checker."""
