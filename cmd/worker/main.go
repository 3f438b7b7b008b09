// Command worker is the reference program of the lab: see faultlab/internal/worker.
package main

import "faultlab/internal/worker"

func main() { worker.Main() }
