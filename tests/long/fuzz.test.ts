// The tests of tests/fuzz with new seeds: five minutes for each property, unless FUZZ_SECONDS is set.

process.env['FUZZ_SECONDS'] ??= '300';

await import('../fuzz/forms.test.ts');
await import('../fuzz/http.test.ts');
await import('../fuzz/openapi.test.ts');
