// A program of Go's own linker, which finds frames by its tables while it collects garbage.
package main

import "fmt"

type list struct {
	next  *list
	value int
}

func grown(depth int) *list {
	if depth == 0 {
		return nil
	}
	return &list{grown(depth - 1), depth}
}

func sum(of *list) int {
	total := 0
	for ; of != nil; of = of.next {
		total += of.value
	}
	return total
}

func main() {
	total := 0
	for round := 0; round < 100; round++ {
		total += sum(grown(1000))
	}
	fmt.Println(total)
}
