import { homedir } from 'node:os';
import { join } from 'node:path';
import { Option } from 'commander';

/** Where pins are kept unless said otherwise. */
function defaultPath(): string {
  const { APPDATA, XDG_CONFIG_HOME } = process.env;
  const config = (process.platform === 'win32' ? APPDATA : XDG_CONFIG_HOME) || join(homedir(), '.config');
  return join(config, 'portcullis', 'mcp-pins.json');
}

/** `--pins FILE`. */
export function pinFileOption(): Option {
  return new Option('--pins <file>', 'where approved tool definitions are kept')
    .env('PORTCULLIS_MCP_PINS')
    .default(defaultPath(), '~/.config/portcullis/mcp-pins.json');
}
