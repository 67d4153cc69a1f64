// `npm run build`: dist from src, with the core rule pack compiled into it.
import { build } from 'tsdown';

await build({ logLevel: 'warn' });
