import { buildTool } from './build-tool.mjs';

await buildTool('bench/service/echo.ts');
console.log(await buildTool('bench/service.ts'));
