/** Packages that have files beside their JavaScript, which they look for next to it: installed with what is built. */
export const INSTALLED = ['sharp'];

/** What Fastify would compile schemas with, had it not been given something else: named in what is built, and never loaded. */
export const NEVER_LOADED = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'];
