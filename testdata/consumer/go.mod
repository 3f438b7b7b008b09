module example.com/notes

go 1.26.0

require faultlab v0.0.0

replace faultlab => ../..
