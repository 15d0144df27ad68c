/** The connection pool of undici alone. The entry of the package also loads fetch, caches and mocks. */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}
