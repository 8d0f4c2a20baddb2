module schemas

go 1.25.0

require (
	cloud.google.com/go/errorreporting v0.3.2
	cloud.google.com/go/logging v1.13.0
	google.golang.org/protobuf v1.36.6
)

require (
	cloud.google.com/go/longrunning v0.6.2 // indirect
	golang.org/x/net v0.33.0 // indirect
	golang.org/x/sys v0.28.0 // indirect
	golang.org/x/text v0.21.0 // indirect
	google.golang.org/genproto v0.0.0-20241118233622-e639e219e697 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20241118233622-e639e219e697 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20241209162323-e6fa225c2576 // indirect
	google.golang.org/grpc v1.67.3 // indirect
)
