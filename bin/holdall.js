#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { enableCodeCache } from './code-cache.js';
import { requireNode } from './require-node.js';

requireNode();
enableCodeCache();
const built = new URL('../dist/main.js', import.meta.url);
if (existsSync(built)) await import(built.href);
else {
  process.stderr.write('holdall: The service is not built (dist/main.js does not exist). Run "npm run build".\n');
  process.exitCode = 1;
}
