import assert from 'node:assert/strict';
import { validateHeaderValue } from 'node:http';
import { describe, it } from 'node:test';
import { parseFile } from '../../src/model/path.ts';
import { attachmentHeader } from '../../src/model/presentation.ts';
import { NAMES } from '../contract/names.ts';

describe('attachment (RFC 6266)', () => {
  it('sends the name in UTF-8, and an ASCII fallback for old clients', () => {
    for (const [path, ascii, utf8] of [
      ['a.txt', 'a.txt', 'a.txt'],
      ['f/g/a b.txt', 'a b.txt', 'a%20b.txt'],
      ['naïve.txt', 'na_ve.txt', 'na%C3%AFve.txt'],
      ['日本.txt', '__.txt', '%E6%97%A5%E6%9C%AC.txt'],
      ['🎉', '_', '%F0%9F%8E%89'],
      [`"quotes'.txt`, `_quotes'.txt`, '%22quotes%27.txt'],
      ['back\\slash', 'back_slash', 'back%5Cslash'],
      ['100%25', '100_25', '100%2525'],
      ['a;b=c', 'a;b=c', 'a%3Bb%3Dc'],
      ['(*)', '(*)', '%28%2A%29'],
      ["!#$&+-.^_`|~'", "!#$&+-.^_`|~'", '!%23%24%26%2B-.%5E_%60%7C~%27'],
    ] as const) {
      assert.equal(attachmentHeader(parseFile(path)), `attachment; filename="${ascii}"; filename*=UTF-8''${utf8}`);
    }
  });

  it('returns a valid header that decodes to the original name', () => {
    for (const name of NAMES) {
      const header = attachmentHeader(parseFile(`f/${name}`));
      assert.match(
        header,
        /^attachment; filename="[\x20-\x21\x23-\x24\x26-\x5b\x5d-\x7e]+"; filename\*=UTF-8''[\w!#$&+.^`|~%-]+$/,
      );
      assert.equal(decodeURIComponent(header.split("UTF-8''")[1] ?? ''), name);
      validateHeaderValue('content-disposition', header);
    }
  });
});
