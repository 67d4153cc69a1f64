/** Guards the AI SDK (`ai` 6 and 7). Imports nothing of it: its types are met by shape. */

export { guardTools } from './guard-tools.js';
export { type CallParams, type GuardMiddleware, guardModel } from './model-middleware.js';
