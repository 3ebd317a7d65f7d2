/* MCP in raw frames: one JSON object per line, through the shim that ARCI_MCP_COMMAND names. */
#ifndef MCP_H
#define MCP_H

/* Starts the shim and shakes hands. Ends the program if that fails. */
void mcp_open(void);

/* Calls a tool with arguments (a JSON object). The answer's line: valid until the next call. */
const char *mcp_call(const char *tool, const char *arguments);

/* Where the tool's value begins in an answer, just behind `"structuredContent":{"result":`; NULL if the call failed. */
const char *mcp_value(const char *answer);

#endif
