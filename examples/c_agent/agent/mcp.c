#include "mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 16 };

static FILE *to_server, *from_server;
static char *line;
static size_t line_size;
static int last_id;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void start(char *command) {
    char *words[MAX_WORDS + 1] = {0};
    int in[2], out[2], count = 0;
    for (char *word = strtok(command, " "); word != NULL && count < MAX_WORDS; word = strtok(NULL, " "))
        words[count++] = word;
    if (pipe(in) != 0 || pipe(out) != 0) fail("pipe");
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        for (int fd = 3; fd < 16; fd++) close(fd);
        execv(words[0], words);
        fail(words[0]);
    }
    close(in[0]);
    close(out[1]);
    to_server = fdopen(in[1], "w");
    from_server = fdopen(out[0], "r");
    if (to_server == NULL || from_server == NULL) fail("fdopen");
}

static int is_answer(const char *text, int id) {
    char mark[32];
    int length = snprintf(mark, sizeof mark, "\"id\":%d", id);
    const char *at = strstr(text, mark);
    return at != NULL && (at[length] == ',' || at[length] == '}');
}

/* The answer to a request. Whatever else the server says in between is passed over. */
static const char *answer(int id) {
    fflush(to_server);
    while (getline(&line, &line_size, from_server) > 0)
        if (is_answer(line, id)) return line;
    fprintf(stderr, "the server is gone\n");
    exit(1);
}

static const char *request(const char *method, const char *params) {
    static const char frame[] = "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}\n";
    fprintf(to_server, frame, ++last_id, method, params);
    return answer(last_id);
}

void mcp_open(void) {
    char *command = getenv("ARCI_MCP_COMMAND");
    if (command == NULL) fail("ARCI_MCP_COMMAND");
    start(command);
    request("initialize", "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                          "\"clientInfo\":{\"name\":\"heater\",\"version\":\"1\"}}");
    fprintf(to_server, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

const char *mcp_call(const char *tool, const char *arguments) {
    char params[512];
    snprintf(params, sizeof params, "{\"name\":\"%s\",\"arguments\":%s}", tool, arguments);
    return request("tools/call", params);
}

const char *mcp_value(const char *text) {
    static const char mark[] = "\"structuredContent\":{\"result\":";
    const char *at = strstr(text, mark);
    return strstr(text, "\"isError\":true") != NULL || at == NULL ? NULL : at + sizeof mark - 1;
}
