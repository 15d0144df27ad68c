import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ACCESS_FILE_SCHEMA } from '../src/access/access-file-schema.ts';

/* Generates docs/reference/access.schema.json, the JSON Schema of the access file, for editors. */
const file = fileURLToPath(new URL('../docs/reference/access.schema.json', import.meta.url));
writeFileSync(file, JSON.stringify(ACCESS_FILE_SCHEMA, null, 2));
execFileSync('npx', ['biome', 'format', '--write', file], { stdio: 'inherit' });
