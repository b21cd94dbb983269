// Runs the checks of a client's program. Knows nothing of the clients: it is imported in their environments.

/** A message that tells the scripted model what to do. */
export const script = (...lines) => ['!script', ...lines].join('\n');

/** Run the checks one after the other, say `passed` or `FAILED` of each, and end with status 1 where one failed. */
export async function run(...checks) {
  for (const check of checks) {
    try {
      await check();
      console.log(`passed ${check.name}`);
    } catch (error) {
      console.log(`FAILED ${check.name}`);
      console.error(`${check.name}:`, error);
      process.exitCode = 1;
    }
  }
}
