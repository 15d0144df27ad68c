import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parseEnv } from 'node:util';
import { parseAccessFile } from '../../src/access/access-file.ts';
import { SETTINGS, type SettingName } from '../../src/config/settings.ts';
import type { Setting } from '../../src/settings/setting.ts';

/** Variables of `deploy/compose`, which are not settings. */
const OTHERS = new Set(['GARAGE_RPC_SECRET', 'REDIS_PASSWORD', 'SCHEME', 'SITE_NAME', 'STORE_NAME']);

describe('The examples in the documentation', () => {
  it('of settings have valid names and values', async () => {
    let count = 0;
    for (const { path, language, text } of await codeBlocks()) {
      if (language !== 'sh' || !isSettingsBlock(text)) continue;
      for (const [name, value = ''] of Object.entries(parseEnv(text))) {
        if (OTHERS.has(name)) continue;
        const place = `${path}: ${name}=${value}`;
        assert.ok(Object.hasOwn(SETTINGS, name), place);
        const setting: Setting<unknown> = SETTINGS[name as SettingName];
        const reading = setting.read(value);
        assert.ok('value' in reading, `${place} ${JSON.stringify(reading)}`);
        count++;
      }
    }
    assert.ok(count > 100, `${count} settings`);
  });

  it('of access files are valid', async () => {
    let count = 0;
    for (const { path, language, text } of await codeBlocks()) {
      if (language !== 'json' || !text.includes('"grants"')) continue;
      assert.doesNotThrow(() => parseAccessFile(text), path);
      count++;
    }
    assert.ok(count > 12, `${count} access files`);
  });
});

interface CodeBlock {
  readonly path: string;
  readonly language: string;
  readonly text: string;
}

async function codeBlocks(): Promise<CodeBlock[]> {
  const root = new URL('../../', import.meta.url);
  const blocks: CodeBlock[] = [];
  for (const path of ['README.md', ...(await Array.fromAsync(glob('docs/**/*.md', { cwd: root })))]) {
    const page = await readFile(new URL(path, root), 'utf8');
    for (const [, indent = '', language = '', text = ''] of page.matchAll(/^( *)```(\w+)\n(.*?)^ *```$/gms)) {
      blocks.push({ path, language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') });
    }
  }
  return blocks;
}

/** Returns whether a block has only lines of an environment file. */
function isSettingsBlock(text: string): boolean {
  return text
    .trim()
    .split('\n')
    .every((line) => /^[A-Z][A-Z\d_]*=("[^"]*"|[^\s"]*)$/.test(line));
}
