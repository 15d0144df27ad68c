// The HTTP API: all names, formats, methods and sizes, and all folder operations that are composed of single files.

process.env['FULL_FORMS'] = '1';

await import('../access/drop-box.test.ts');
await import('../fuzz/forms.test.ts');
await import('../http/bare.test.ts');
await import('../http/protocol/names.test.ts');
await import('../http/protocol/requests.test.ts');
await import('../http/protocol/thumbnails.test.ts');
await import('../http/protocol/upload.test.ts');
await import('../properties/paths.test.ts');

export {};
