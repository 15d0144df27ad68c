/**
 * Packages that npm installs with Holdall instead of bundling them, because they load files from their own folder. Optional
 * dependencies of the project are optional for the package too.
 */
export const INSTALLED = ['@koromix/koffi-linux-arm64', '@koromix/koffi-linux-x64', 'sharp'];

/** Fastify's default schema compilers. Holdall replaces them, so the bundle names them and never loads them. */
export const NEVER_LOADED = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'];
