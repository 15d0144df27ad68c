// The memory of all images that are large when decoded, in a process of its own, because it is measured.

process.env['FULL_FORMS'] = '1';

await import('../thumbnails/memory.test.ts');

export {};
