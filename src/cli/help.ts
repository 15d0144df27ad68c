import { describeSettings, findSettings } from '../config/help.ts';
import { quoted } from '../model/error.ts';
import { commit, EXIT_CODES, version, versionAndCommit } from '../system.ts';
import { type CommandSpec, defineCommand, JSON_OPTION, type JsonOptions, toJson, UsageError } from './command.ts';

const SETTINGS_INTRODUCTION = `Settings are environment variables, or lines NAME=value of a file .env in the working folder.
Defaults are in brackets.

`;

/** `holdall help`. */
export const HELP: CommandSpec = defineCommand({
  name: 'help',
  arguments: { '[topic...]': 'A command, or "settings" and a part of their names' },
  summary: 'Print the help of a command, or of the settings',
  examples: {
    'holdall help token new': 'Explain a command',
    'holdall help settings': 'List all settings',
    'holdall help settings S3_': 'List the settings of a bucket',
  },
  async run({ args, print, showHelp }) {
    const [topic, part = '', extra] = args;
    if (topic !== 'settings') {
      showHelp(args);
      return EXIT_CODES.ok;
    }
    if (extra !== undefined) throw new UsageError(`Unexpected argument ${quoted(extra)}.`);
    const names = findSettings(part);
    if (names.length === 0) throw new UsageError(`No setting has a name with ${quoted(part)}.`);
    print(SETTINGS_INTRODUCTION + describeSettings(names));
    return EXIT_CODES.ok;
  },
});

/** `holdall version`. */
export const VERSION: CommandSpec = defineCommand<JsonOptions>({
  name: 'version',
  summary: 'Print the version and the commit that it was built from',
  options: [JSON_OPTION],
  examples: { 'holdall version --json': 'Print also the version of Node.js, as JSON' },
  async run({ options, print }) {
    const node = process.versions.node;
    print(
      options.json
        ? toJson({ version, commit, node, platform: process.platform, arch: process.arch })
        : `${versionAndCommit}\n`,
    );
    return EXIT_CODES.ok;
  },
});
