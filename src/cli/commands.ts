import { ACCESS_CHECK, ACCESS_EXPLAIN } from './access.ts';
import { APP_TOKEN_LIST, APP_TOKEN_NEW, APP_TOKEN_REVOKE } from './app-tokens.ts';
import type { CommandSpec } from './command.ts';
import { createCompletion } from './completion.ts';
import { CONFIG_CHECK, CONFIG_PRINT } from './config.ts';
import { DATABASE_BACKUP, DATABASE_CHECK, DATABASE_MIGRATE } from './database.ts';
import { DOCTOR } from './doctor.ts';
import { GRANT_LIST, GRANT_REMOVE, GRANT_SET } from './grants.ts';
import { HELP, VERSION } from './help.ts';
import { LINK_CREATE, LINK_LIST, LINK_REVOKE } from './links.ts';
import { PASSWORD } from './password.ts';
import { SERVE } from './serve.ts';
import { TOKEN_LIST, TOKEN_NEW, TOKEN_REVOKE } from './tokens.ts';
import { USER_ADD, USER_LIST, USER_PASSWD, USER_REMOVE } from './users.ts';
import {
  WEBHOOK_ADD,
  WEBHOOK_DELIVERIES,
  WEBHOOK_DISABLE,
  WEBHOOK_ENABLE,
  WEBHOOK_LIST,
  WEBHOOK_REDELIVER,
  WEBHOOK_REMOVE,
  WEBHOOK_ROTATE_SECRET,
  WEBHOOK_SET,
  WEBHOOK_TEST,
} from './webhooks.ts';

const LISTED: readonly CommandSpec[] = [
  SERVE,
  DOCTOR,
  CONFIG_CHECK,
  CONFIG_PRINT,
  USER_ADD,
  USER_LIST,
  USER_PASSWD,
  USER_REMOVE,
  GRANT_LIST,
  GRANT_SET,
  GRANT_REMOVE,
  TOKEN_NEW,
  TOKEN_LIST,
  TOKEN_REVOKE,
  APP_TOKEN_NEW,
  APP_TOKEN_LIST,
  APP_TOKEN_REVOKE,
  ACCESS_CHECK,
  ACCESS_EXPLAIN,
  DATABASE_CHECK,
  DATABASE_MIGRATE,
  DATABASE_BACKUP,
  LINK_CREATE,
  LINK_LIST,
  LINK_REVOKE,
  WEBHOOK_ADD,
  WEBHOOK_LIST,
  WEBHOOK_SET,
  WEBHOOK_ENABLE,
  WEBHOOK_DISABLE,
  WEBHOOK_REMOVE,
  WEBHOOK_ROTATE_SECRET,
  WEBHOOK_TEST,
  WEBHOOK_DELIVERIES,
  WEBHOOK_REDELIVER,
  PASSWORD,
  HELP,
  VERSION,
];

/** The commands that only group others. */
export const GROUPS = {
  config: 'Check and print the settings',
  user: 'Manage the users in the access file',
  grant: 'Manage the permissions in the access file',
  token: 'Manage access tokens',
  'app-token': 'Manage tokens for single apps of users',
  access: 'Check an access file, and explain its decisions',
  database: 'Check, migrate and back up the database',
  link: 'Share files and folders by links',
  webhook: 'Send changes to other services',
} as const;

/** All commands, in the order of the help. */
export const COMMANDS: readonly CommandSpec[] = [...LISTED, createCompletion(LISTED, GROUPS)];

/** The examples of `holdall --help`. */
export const PROGRAM_EXAMPLES = {
  'holdall ~/Pictures': 'Serve a folder at http://127.0.0.1:8080',
  'holdall --port 9000 --read-only .': 'Serve the current folder without changes',
  'holdall help settings S3_': 'List the settings of a bucket',
  'holdall doctor': 'Find problems of the settings, the store and the proxy',
} as const;
