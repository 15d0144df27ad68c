import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { SETTINGS, type SettingName } from '../config/settings.ts';
import { quoted, systemErrorCode } from '../model/error.ts';
import { EXIT_CODES } from '../system.ts';
import { checkOf, defineCommand, type OptionSpec, UsageError } from './command.ts';

interface ServeOptions {
  readonly port?: string;
  readonly host?: string;
  readonly readOnly?: true;
  readonly accessFile?: string;
  readonly open?: true;
  readonly publicUrl?: string;
  readonly basePath?: string;
  readonly logLevel?: string;
}

/** An option with the value of a setting. */
function settingOption(flags: string, name: SettingName, help: string): OptionSpec {
  return {
    flags,
    help: `${help} (${name})`,
    check(text) {
      // An empty variable of the environment counts as unset, but an empty option is a mistake.
      if (text === '') return 'It must not be empty.';
      return checkOf(SETTINGS[name].read)(text);
    },
  };
}

export const SERVE = defineCommand<ServeOptions>({
  name: 'serve',
  arguments: { '[folder]': 'Folder to serve; overrides STORAGE_TYPE and DISK_ROOT' },
  summary: 'Serve files (the default command)',
  details:
    'Without a folder, Holdall serves the store that the settings select: by default, the folder ./data. An option overrides the setting in parentheses. See "holdall help settings" for all settings.',
  options: [
    settingOption('-p, --port <port>', 'PORT', 'Port to listen on, 0 for a free port'),
    settingOption('--host <address>', 'HOST', 'Address to listen on'),
    { flags: '--read-only', help: 'Refuse all changes (READ_ONLY)' },
    settingOption('--access-file <file>', 'ACCESS_FILE', 'File with the users and their permissions'),
    { flags: '--open', help: 'Give everyone who reaches the port all permissions (ACCESS=open)' },
    settingOption('--public-url <url>', 'PUBLIC_URL', 'URL of the service for users'),
    settingOption('--base-path <path>', 'BASE_PATH', 'Path prefix of all URLs'),
    settingOption('--log-level <level>', 'LOG_LEVEL', 'Minimum level of log lines'),
  ],
  examples: {
    'holdall ~/Pictures': 'Serve a folder at http://127.0.0.1:8080',
    'holdall serve --port 9000 --read-only .': 'Serve the current folder without changes',
    'holdall serve --host 0.0.0.0 --access-file access.json': 'Serve users of the network',
  },
  async run({ args: [folder], options, loadEnvironment, serve }) {
    const settings: Partial<Record<SettingName, string>> = {
      ...(options.port !== undefined && { PORT: options.port }),
      ...(options.host !== undefined && { HOST: options.host }),
      ...(options.readOnly && { READ_ONLY: 'true' }),
      ...(options.accessFile !== undefined && { ACCESS_FILE: options.accessFile }),
      ...(options.open && { ACCESS: 'open' }),
      ...(options.publicUrl !== undefined && { PUBLIC_URL: options.publicUrl }),
      ...(options.basePath !== undefined && { BASE_PATH: options.basePath }),
      ...(options.logLevel !== undefined && { LOG_LEVEL: options.logLevel }),
      ...(folder !== undefined && { STORAGE_TYPE: 'disk', DISK_ROOT: await existingFolder(folder) }),
    };
    await serve(await loadEnvironment(settings));
    return EXIT_CODES.ok;
  },
});

/** Returns the absolute path of a folder. A folder that does not exist is more likely a typing error than a new folder. */
async function existingFolder(folder: string): Promise<string> {
  // The empty value of a shell variable would otherwise select the working folder.
  if (folder === '') throw new UsageError('The folder is empty. Use "." to serve the working folder.');
  const path = resolve(folder);
  try {
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new UsageError(`The folder ${quoted(folder)} does not exist.`);
    throw new UsageError(`Can't open the folder ${quoted(folder)}: ${code ?? String(error)}.`);
  }
  throw new UsageError(`${quoted(folder)} is not a folder.`);
}
