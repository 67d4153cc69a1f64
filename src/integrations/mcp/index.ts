/** The MCP gateway in process: guards a transport of the official SDK. `portcullis mcp-proxy` is the same as a process of its own. */
export { type GuardTransportOptions, guardTransport, type McpTransport } from './guard-transport.js';
export type { GatewayEvent } from './pin-event.js';
export { openPins, type Pins, type PinsOptions } from './pins.js';
