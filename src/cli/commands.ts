import { ACCESS_CHECK, ACCESS_EXPLAIN } from './access.ts';
import type { CommandSpec } from './command.ts';
import { DOCTOR } from './doctor.ts';
import { HELP, VERSION } from './help.ts';
import { PASSWORD } from './password.ts';
import { SERVE } from './serve.ts';
import { TOKEN_NEW } from './token.ts';

/** All commands, in the order of the help. */
export const COMMANDS: readonly CommandSpec[] = [
  SERVE,
  DOCTOR,
  TOKEN_NEW,
  ACCESS_CHECK,
  ACCESS_EXPLAIN,
  PASSWORD,
  HELP,
  VERSION,
];

/** The commands that only group others. */
export const GROUPS = {
  token: 'Manage access tokens',
  access: 'Check an access file, and explain its decisions',
} as const;

/** The examples of `holdall --help`. */
export const PROGRAM_EXAMPLES = {
  'holdall ~/Pictures': 'Serve a folder at http://127.0.0.1:8080',
  'holdall --port 9000 --read-only .': 'Serve the current folder without changes',
  'holdall help settings S3_': 'List the settings of a bucket',
  'holdall doctor': 'Find problems of the settings, the store and the proxy',
} as const;
