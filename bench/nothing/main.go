// Nothing is the Go program that does nothing: what any Go program costs.
package main

func main() {}
