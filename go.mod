module faultlab

go 1.26
