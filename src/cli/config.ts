import { defaultOf, mayHoldSecret, readConfig } from '../config/config.ts';
import { findMisspellings, findTarget, readText } from '../config/environment.ts';
import { SETTINGS, type SettingName } from '../config/settings.ts';
import type { Setting } from '../settings/setting.ts';
import { SettingsError } from '../settings/setting.ts';
import { EXIT_CODES } from '../system.ts';
import {
  defineCommand,
  type Environment,
  JSON_OPTION,
  type JsonOptions,
  printable,
  toJson,
  toTable,
} from './command.ts';

/** `holdall config check`: reports every mistake in the settings. */
export const CONFIG_CHECK = defineCommand<JsonOptions>({
  name: 'config check',
  summary: 'Report every mistake in the settings',
  details:
    'Checks the values only. To check also the store, the access file and the reverse proxy, run "holdall doctor".',
  options: [JSON_OPTION],
  examples: { 'holdall config check': 'Check .env and the environment before a start' },
  async run({ options, loadEnvironment, print, explain }) {
    const { variables } = await loadEnvironment();
    const warnings = findMisspellings(variables);
    try {
      readConfig(variables);
      if (options.json) print(toJson({ valid: true, warnings }));
      else print(['The settings are valid.', ...warnings.map((text) => `  ${text}`), ''].join('\n'));
      return EXIT_CODES.ok;
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      if (options.json) print(toJson({ valid: false, problems: error.problems, warnings }));
      else explain(`${[`holdall: ${error.message}`, ...warnings.map((text) => `  ${text}`)].join('\n')}\n`);
      return EXIT_CODES.configuration;
    }
  },
});

/** The value of a setting and its origin. */
interface EffectiveSetting {
  readonly name: SettingName;
  /** Null if the setting is unset or secret, or if the value is invalid and can contain a secret. */
  readonly value: string | null;
  readonly isSecret: boolean;
  /** Where the value comes from; null if the setting is unset. */
  readonly source: 'environment' | '.env' | 'default' | null;
  /** The variable of the value, such as `HOLDALL_PORT`; null for a default. */
  readonly variable: string | null;
  readonly default: string | null;
}

/** `holdall config print`: prints every setting. */
export const CONFIG_PRINT = defineCommand<JsonOptions>({
  name: 'config print',
  summary: 'Print all settings and where they come from',
  details: 'Secrets are not shown.',
  options: [JSON_OPTION],
  examples: { 'holdall config print': 'Print the settings that a start would use' },
  async run({ options, loadEnvironment, print }) {
    const environment = await loadEnvironment();
    const settings = (Object.keys(SETTINGS) as SettingName[]).map((name) => describeSetting(name, environment));
    if (options.json) {
      print(toJson(settings));
      return EXIT_CODES.ok;
    }
    const rows = settings.map(({ name, value, source, variable }) => [
      name,
      value === null && source !== null ? '(secret)' : printable(value ?? ''),
      [source ?? 'not set', variable !== null && variable !== name && `as ${variable}`].filter(Boolean).join(' '),
    ]);
    print(toTable(['SETTING', 'VALUE', 'SOURCE'], rows));
    return EXIT_CODES.ok;
  },
});

function describeSetting(name: SettingName, { variables, sources }: Environment): EffectiveSetting {
  const setting: Setting<unknown> = SETTINGS[name];
  const isSecret = setting.isSecret === true;
  const type = readText(variables, 'STORAGE_TYPE');
  const defaultText = defaultOf(name, 'text' in type ? type.text : undefined);
  const common = { name, isSecret, default: defaultText };
  const variable = Object.keys(variables).find((each) => variables[each] && findTarget(each)?.setting === name);
  if (variable === undefined) {
    return { ...common, value: defaultText, source: defaultText === null ? null : 'default', variable: null };
  }
  const source = sources.get(variable) === '.env' ? '.env' : 'environment';
  const text = variables[variable] ?? '';
  const isHidden = isSecret || ('problem' in setting.read(text) && mayHoldSecret(text));
  return { ...common, value: isHidden ? null : text, source, variable };
}
