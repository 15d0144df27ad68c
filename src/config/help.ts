import type { Setting } from '../settings/setting.ts';
import { SETTINGS } from './settings.ts';

/** Maximum width of the help in characters. */
export const HELP_WIDTH = 100;

/** Returns the names of the settings that contain a text, such as `S3_`. */
export function findSettings(part: string): string[] {
  return Object.keys(SETTINGS).filter((name) => name.includes(part.toUpperCase()));
}

/** Returns the name, default and description of settings. */
export function describeSettings(names: readonly string[] = Object.keys(SETTINGS)): string {
  return Object.entries(SETTINGS)
    .filter(([name]) => names.includes(name))
    .map(([name, setting]: [string, Setting<unknown>]) => {
      const defaultText = setting.defaultText === null ? '' : ` [${setting.defaultText}]`;
      return `  ${name}${defaultText}\n${wrap(setting.help.replaceAll('`', ''), 6)}\n`;
    })
    .join('');
}

/** Wraps a text at spaces and indents its lines. */
function wrap(text: string, indent: number): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && indent + line.length + 1 + word.length > HELP_WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => ' '.repeat(indent) + line).join('\n');
}
