module sconce.example/run

go 1.19
