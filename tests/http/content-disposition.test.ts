import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFormDisposition } from '../../src/http/form-fields.ts';
import { NAMES } from '../contract/names.ts';

/** Returns a header as received from the network: its bytes as Latin-1. */
const received = (header: string) => Buffer.from(header).toString('latin1');
const parse = (header: string) => parseFormDisposition(received(header));

describe('The Content-Disposition of a form part', () => {
  it('contains the name and file name, quoted or not, in any order and case', () => {
    const file = { name: 'file', filename: 'a.txt' };
    for (const header of [
      'form-data; name="file"; filename="a.txt"',
      'form-data; filename="a.txt"; name="file"',
      'form-data;name="file";filename="a.txt"',
      'form-data ; name = "file" ; filename = "a.txt"',
      'Form-Data; Name="file"; FileName="a.txt"',
      'form-data; name=file; filename=a.txt',
      'form-data; name="file"; filename=a.txt;',
      'form-data; name="file"; filename="a.txt"; filename="b.txt"',
      'form-data; name="file"; size=5; filename="a.txt"; x="y;z"',
      `form-data; name="file"; filename="a.txt"; filename*=UTF-8''b.txt`,
    ]) {
      assert.deepEqual(parse(header), file, header);
    }
  });

  it('has no file name if the parameter is missing, and an empty one if it is empty', () => {
    assert.deepEqual(parse('form-data; name="prefix"'), { name: 'prefix', filename: undefined });
    assert.deepEqual(parse('form-data; name="file"; filename=""'), { name: 'file', filename: '' });
    assert.deepEqual(parse('form-data; name=""'), { name: '', filename: undefined });
    assert.deepEqual(parse('form-data'), { name: undefined, filename: undefined });
  });

  it('prefers filename* to a filename of RFC 2047 encoded words, as .NET and Spring send them', () => {
    for (const [written, name] of [
      [`filename="=?utf-8?B?w6QudHh0?="; filename*=utf-8''%C3%A4.txt`, 'ä.txt'],
      [`filename==?utf-8?B?w6QudHh0?=; filename*=utf-8''%C3%A4.txt`, 'ä.txt'],
      [`filename*=UTF-8''%C3%A4%20%25%22.txt; filename="=?UTF-8?Q?=C3=A4_=25=22?= =?UTF-8?Q?.txt?="`, 'ä %".txt'],
      [`filename="=?iso-8859-1?q?=E4?="; filename*=ISO-8859-1'de'%E4%27`, "ä'"],
      [`filename="=?utf-8?B?YQ==?="; filename*=utf-8''..%2Fa`, '../a'],
    ] as const) {
      assert.deepEqual(parse(`form-data; name=file; ${written}`), { name: 'file', filename: name }, written);
    }
  });

  it('treats a filename of encoded words alone, or any other next to filename*, as a literal name', () => {
    for (const [written, name] of [
      ['filename="=?utf-8?B?w6QudHh0?="', '=?utf-8?B?w6QudHh0?='],
      [`filename="=?utf-8?B?w6QudHh0?=.txt"; filename*=utf-8''b`, '=?utf-8?B?w6QudHh0?=.txt'],
      [`filename="a.txt"; filename*0=b`, 'a.txt'],
      [`filename=""; filename*=utf-8''b`, ''],
    ] as const) {
      assert.deepEqual(parse(`form-data; name=file; ${written}`), { name: 'file', filename: name }, written);
    }
  });

  it('reports a file name parameter in an unsupported format', () => {
    const encoded = 'filename="=?utf-8?B?w6QudHh0?="';
    for (const [written, unreadable] of [
      [`filename*=UTF-8''b.txt`, 'filename*'],
      ['filename*0="a"; filename*1=".txt"', 'filename*0'],
      [`filename*0*=utf-8''a; filename*1*=b`, 'filename*0*'],
      [`${encoded}; filename*=utf-8''%C3`, 'filename*'],
      [`${encoded}; filename*=utf-8''%C3%A`, 'filename*'],
      [`${encoded}; filename*=koi8-r''a`, 'filename*'],
      [`${encoded}; filename*=a.txt`, 'filename*'],
      [`${encoded}; filename*0=a.txt`, 'filename*0'],
    ] as const) {
      const field = { name: 'file', filename: undefined, unreadable };
      assert.deepEqual(parse(`form-data; name="file"; ${written}`), field, written);
    }
  });

  it('is rejected if the field name is only in name*', () => {
    assert.equal(parse(`form-data; name*=utf-8''prefix`), undefined);
    assert.equal(parse('form-data; name*0=pre; name*1=fix'), undefined);
    assert.equal(parse(`form-data; name=prefix; name*=utf-8''other`)?.name, 'prefix');
  });

  it('decodes names as browsers and curl encode them: UTF-8, with %22 for a quote, and a literal backslash', () => {
    for (const name of NAMES) {
      const written = name.replaceAll('"', '%22');
      for (const header of [
        `form-data; name="file"; filename="${written}"`,
        `form-data; filename="${written}"; name="file"`,
        `form-data; name="file"; filename="${written}" ; x=y`,
      ]) {
        assert.deepEqual(parse(header), { name: 'file', filename: name }, header);
      }
    }
    assert.equal(parse('form-data; name="file"; filename="a%0D%0Ab%0d%0a"')?.filename, 'a\r\nb\r\n');
  });

  it('does not parse parameters inside a name', () => {
    for (const name of ['a; filename=b', 'a; name=prefix', '; x', 'a=b', '=', ';', "a';b"]) {
      const header = `form-data; name="file"; filename="${name}"`;
      assert.deepEqual(parse(header), { name: 'file', filename: name }, header);
    }
  });

  it('unescapes backslashes before quotes, as older programs write them', () => {
    for (const [written, name] of [
      ['a\\"b', 'a"b'],
      ['\\"', '"'],
      ['\\"a\\" and \\\\', '"a" and \\'],
      ['a\\\\\\"b', 'a\\"b'],
    ] as const) {
      assert.equal(parse(`form-data; name="file"; filename="${written}"`)?.filename, name, written);
    }
  });

  it('keeps every backslash if the name contains no quote', () => {
    for (const name of ['a\\b', 'a\\\\b', '\\', 'C:\\dir\\a.txt', 'ends\\', 'ends\\\\']) {
      assert.equal(parse(`form-data; name="file"; filename="${name}"`)?.filename, name, name);
      assert.equal(parse(`form-data; filename="${name}"; name="file"`)?.filename, name, name);
    }
  });

  it('decodes nothing else, such as a percent sign', () => {
    for (const name of ['100%', '%2F', '%25', '%41', '%', '%2', 'a+b']) {
      assert.equal(parse(`form-data; name="file"; filename="${name}"`)?.filename, name);
    }
  });

  it('is rejected if it is another disposition', () => {
    for (const header of [
      '',
      'attachment',
      'attachment; name="file"',
      'form-data2; name="file"',
      'x-form-data; name="a"',
    ]) {
      assert.equal(parse(header), undefined, header);
    }
  });

  it('is rejected if names are not UTF-8', () => {
    for (const bytes of ['ff', 'c3', 'c328', 'eda080', 'f09f98', 'c0af', 'e9']) {
      const name = Buffer.from(bytes, 'hex').toString('latin1');
      assert.equal(parseFormDisposition(`form-data; name="file"; filename="${name}"`), undefined, bytes);
      assert.equal(parseFormDisposition(`form-data; name="${name}"`), undefined, bytes);
    }
  });

  it('is parsed from a header of 16 KiB', () => {
    // `npm run check` proves that the regular expressions take linear time.
    const count = 4000;
    for (const [filling, name] of [
      ['"', '"'.repeat(count - 1)],
      ['" ', '" '.repeat(count - 1)],
      ['";', '";'.repeat(count - 1)],
      ['\\"', `${'"'.repeat(count - 1)}\\`],
      [';', ';'.repeat(count)],
      ['; a', '; a'.repeat(count)],
      ['; a=', '; a='.repeat(count)],
      ['; a="', '; a='],
      [' ', ' '.repeat(count)],
    ] as const) {
      assert.equal(parse(`form-data; name="file"; filename="${filling.repeat(count)}`)?.filename, name, filling);
    }
  });
});
