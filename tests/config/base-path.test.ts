import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readConfig } from '../../src/config/config.ts';

const read = (settings: Record<string, string>) => readConfig({ ACCESS: 'open', ...settings });

describe('The setting BASE_PATH', () => {
  it('is a path without a trailing slash, or empty', () => {
    for (const [BASE_PATH, expected] of Object.entries({
      '': '',
      '/': '',
      '/files': '/files',
      '/files/': '/files',
      '/~ann/My.Files_2-x/': '/~ann/My.Files_2-x',
    })) {
      assert.equal(read({ BASE_PATH }).BASE_PATH, expected);
    }
  });

  it('rejects everything that is not a plain path', () => {
    for (const BASE_PATH of [
      'files',
      '//',
      '//files',
      '/files//',
      '/a//b',
      '/.',
      '/a/..',
      '/../b',
      '/a b',
      '/%66iles',
      '/é',
      '/a\\b',
      '/a?b',
      '/a#b',
      '/a;b',
      '/a+b',
      '/a\nb',
      'https://files.example.org/files',
      `/${'x'.repeat(200)}`,
    ]) {
      assert.throws(() => read({ BASE_PATH }), /BASE_PATH must be \/ or a path that begins with \/, /, BASE_PATH);
    }
  });

  it('must be the path of PUBLIC_URL', () => {
    for (const PUBLIC_URL of ['https://files.example.org/team/files', 'https://files.example.org/team/files/']) {
      assert.equal(read({ PUBLIC_URL, BASE_PATH: '/team/files' }).BASE_PATH, '/team/files');
    }
    for (const path of ['', '/files', '/team', '/team/files/x', '/team/Files', '/x/team/files', '/team%2Ffiles']) {
      assert.throws(() => read({ PUBLIC_URL: `https://files.example.org${path}`, BASE_PATH: '/team/files' }), {
        message: `The settings have an error:\n  PUBLIC_URL=https://files.example.org${path} and BASE_PATH=/team/files have different paths. Set PUBLIC_URL=https://files.example.org/team/files, or remove BASE_PATH if the reverse proxy removes the path.`,
      });
    }
    // Without BASE_PATH, the reverse proxy removes the path of PUBLIC_URL.
    assert.equal(read({ PUBLIC_URL: 'https://files.example.org/files' }).BASE_PATH, '');
  });
});
